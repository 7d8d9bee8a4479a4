"""`python -m attn.bench` compares kernels with what PyTorch has.

variants   the attention variants, for this compiler and for FlexAttention
peers      attention of PyTorch, by backend
check      errors against float64, on a sample of the rows
measure    times, with all contenders in turn
"""
