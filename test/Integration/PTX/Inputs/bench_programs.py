"""Compiles programs of the benchmarks, and the examples, with their schedules.

Usage: bench_programs.py PTXAS FAKE_CUDA DIRECTORY EXAMPLES SHARD/SHARDS

A schedule that the compiler tries first for a program, and ptxas spills with or
makes slow, is a failure: the table promises what the program does not get. What
a row of the table may spill is known to the compiler, which is asked with a driver
without a GPU. Files are written to DIRECTORY.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

import check
import shards
from attn_bench import split_kv, sparsity, variants

DIMS = (64, 128, 256)
# Of gradients, in compile time the most expensive programs.
GRADIENT_DIMS = (64, 128)

# Masks that are tensors.
PAIRS = {
    "pairs": ("tensor<?x?xi1>", "%i, %j"),
    "pairs-of-heads": ("tensor<?x?x?xi1>", "%h, %i, %j"),
}


def make_case(variant, mask, dim):
    return variants.Case(variant, mask, "bf16", 1, 8, 16384, dim)


def _get_lists(dim):
    """One program of each form: densities change what lists hold alone."""
    programs = {}
    for name in ("blocks-64-20", "blocks-128-20"):
        pattern = sparsity.FAMILIES["blocks"][name]
        for form in pattern.forms:
            programs[f"{name}-{form}-{dim}"] = pattern, form
    keys, shared = sparsity.FAMILIES["keys"], sparsity.FAMILIES["shared"]
    for form in ("attn", "rows", "predicate"):
        programs[f"keys-{form}-{dim}"] = keys["keys-90"], form
    programs[f"shared-gathered-{dim}"] = shared["shared-10"], "gathered"
    return {
        name: (
            pattern.program(make_case("none", name, dim), form),
            [f"--sparsity={pattern.forms[form].choice}"],
        )
        for name, (pattern, form) in programs.items()
    }


def _get_masks(number, variant):
    """All masks of a plain attention, and one in turn of other scores: each score
    and each mask is there for each dimension, and each pair of them for one."""
    masks = list(variant.masks or variants.MASKS)
    return masks if variant is variants.VARIANTS["none"] else [masks[number % len(masks)]]


def get_programs(examples):
    """Texts, and options of attn-run, by name. No text is there twice: patterns that
    differ in what tensors hold are one program."""
    programs = _get_all(examples)
    known = set()
    return {
        name: program
        for name, program in programs.items()
        if not (str(program) in known or known.add(str(program)))
    }


def _get_all(examples):
    programs = _get_lists(128)
    for number, dim in enumerate(DIMS):
        for other, (name, variant) in enumerate(variants.VARIANTS.items()):
            for mask in _get_masks(number + other, variant):
                case = make_case(name, mask, dim)
                programs[f"{name}-{mask}-{dim}"] = variants.program(case), []
        for name, pattern in sparsity.FAMILIES["masks"].items():
            case = make_case("none", name, dim)
            text = pattern.program(case, next(iter(pattern.forms)))
            programs[f"{name}-{dim}"] = text, []
        case = make_case("none", "global", dim)
        programs[f"global-{dim}"] = split_kv.program(case), []
        # Both a score and a mask that is found from data.
        documents = sparsity.FAMILIES["masks"]["documents-8-causal"]
        text = variants.text(
            case,
            documents.forms["attn"].inputs,
            score=variants.VARIANTS["softcap"].score,
            mask=documents.body,
        )
        programs[f"softcap-documents-{dim}"] = text, []
        for name, (type_, indices) in PAIRS.items():
            load = f"%p = tensor.extract %ok[{indices}] : {type_}"
            text = variants.text(case, [("ok", type_)], mask=load)
            programs[f"{name}-{dim}"] = text, []
    for dim in GRADIENT_DIMS:
        for name in ("none", "softcap"):
            text = variants.program(make_case(name, "causal", dim))
            programs[f"gradients-{name}-causal-{dim}"] = text, ["--grad=q,k,v"]
    for path in sorted(pathlib.Path(examples).glob("*.mlir")):
        # Others are for a CPU, which has no products of f32.
        if re.search(r"x(bf16|f16)>", path.read_text()):
            programs[path.stem] = path.read_text(), []
    return programs


def choose_programs(names):
    """Each score, whatever the mask, and each mask alone, with one head dimension at
    least; and each of the others."""
    scores = {
        f"{name}-{mask}": name
        for name, variant in variants.VARIANTS.items()
        for mask in variant.masks or variants.MASKS
        if name != "none"
    }

    def get_kind(name):
        name = re.sub(r"-\d+$", "", name)
        return scores.get(name, name)

    return shards.sample_each(names, get_kind)


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise check.Mismatch(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done


def main():
    ptxas, fake_cuda, directory, examples, shard = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    programs = get_programs(examples)

    def compile_(path, options):
        """What the compiler says if it asks ptxas: schedules that it rejects."""
        command = ["attn-run", path, "--target=cuda", "--explain=json", *options]
        done = run(command, env={**os.environ, "ATTN_LIBCUDA": fake_cuda})
        return [str(rejected) for rejected in json.loads(done.stdout)["rejected"]]

    def emit(path, options):
        """Headings and PTX of all that is left to the driver."""
        command = ["attn-run", path, "--target=cuda", "--emit=ptx", "--variant=all"]
        text = run(
            command + options, env={**os.environ, "ATTN_PTXAS": "off"}
        ).stdout
        # As "// variant 0 of 3: #hopper.schedule<...>"; one alone has no heading.
        texts = re.split(r"^// (variant \d+ of .*|checks of lists)$", text, flags=re.M)
        for heading, ptx in zip(texts[1::2], texts[2::2]):
            if "strided" in heading or heading == "checks of lists":
                yield heading, ptx

    def check_program(name):
        text, options = programs[name]
        stem = os.path.join(directory, name)
        with open(stem + ".mlir", "w") as file:
            file.write(text)
        problems = compile_(stem + ".mlir", options)
        if any(option.startswith("--grad") for option in options):
            left = []
        else:
            left = emit(stem + ".mlir", options)
        for number, (heading, ptx) in enumerate(left):
            path = f"{stem}-{number}.ptx"
            with open(path, "w") as file:
                file.write(ptx)
            log = run([ptxas, "-v", "-arch=sm_90a", path, "-o", os.devnull]).stderr
            try:
                check.check_log(log)
            except check.Mismatch as mismatch:
                problems.append(f"{heading}: {mismatch}")
        if problems:
            raise check.Mismatch("\n".join(problems))

    names = choose_programs(list(programs))
    sys.exit(shards.run("programs", names, shard, check_program, check.Mismatch))


main()
