"""What options of the command lines are read as."""

import argparse


def positive(text):
    number = int(text) if text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expects a positive number, but got '{text}'")
    return number


def positives(text):
    return [positive(number) for number in text.split(",")]
