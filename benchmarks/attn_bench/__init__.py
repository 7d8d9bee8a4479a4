"""`python -m attn_bench` compares kernels with what PyTorch has.

variants   the attention variants, for this compiler and for FlexAttention
peers      attention of PyTorch, by backend
check      errors against float64, on a sample of the rows
measure    times, with all contenders in turn
contest    contenders on the same inputs: checked, then timed
sparsity   masks and layouts, with `--sparsity`
tiles      the part of the tiles that a mask leaves
sparse     what masks and layouts cost
"""
