#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes tokens.txt: texts and their tokens as Hugging Face's `tokenizers` makes them from the vocabulary and the merges
# of the GGUF file. Run by hand: tokens.py MODEL.gguf > tokens.txt; needs numpy and tokenizers.
#
# A line is the numbers of the tokens, a | and the text, where other bytes than printable ASCII stand as \xHH.
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "generate" / "reference"))
import gguf_file  # noqa: E402
from reference import escaped, huggingface  # noqa: E402

NAMED = [
    "", " ", "  ", "   ", "a", " a", "  a", "   a ", "Hello, world!", "The quick brown fox jumps over the lazy dog.",
    "\n", "\n\n", " \n", "\n ", "a\nb", "a \n b", "a\n\n\nb", "\r\n", "a\r\n\tb", "\t\tx",
    "tab\tthen  spaces   end   ", "I'm you're he's we've they'll I'd can't", "I'M YOU'RE HE'S", "'s 't '", " 's",
    "''s", "'x'", "don''t", "l'été d'hiver", "0", "10", "1234567890", "3.14159", "a1b22c333", " 1", "  1", "a 1",
    "a  1  b", "1 2  3   4", "1\n2", "v2.0.1-rc3", "½ ² Ⅷ ٣ १२ ¾cup", "x²+y²=z²", "100% of $5.00 is €4.60?",
    "C++ vs. C#: a->b == *p && !q", "snake_case CamelCase", "<html lang=\"en\">&amp;</html>", "path/to\\file",
    "{\"key\": [1, 2.5, null]}", "for (int i = 0; i < n; ++i) sum += a[i];",
    "def f(x):\n    return x ** 2\n\n\nclass A:\n\tpass\n", "Straße, naïve café, Ångström, œuvre", "Привет, мир!",
    "Γειά σου Κόσμε", "你好，世界。", "こんにちは世界", "안녕하세요 세계", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "\xe9 versus e\u0301", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7",
    "a\xa0b\u2003c\u3000d\u2028e", "\xa0\xa0x", "\u200b\ufeffzero width", "\x00\x01\x7f", "\x85next",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "========================================",
    "                                        x", "<|im_start|>user\nHi<|im_end|>\n", "<|im_start|><|im_end|>",
    "<|im_start|", "x<|endoftext|>y", " <|im_end|> ", "<|im_end|>1", "<repo_name>a/b<file_sep>", "ſ İ ı ß K",
    "\U0001d4b3\U0001d4ce \U0001d7d8\U0001d7d9", "a\u0300\u0301 b", "…—–“quotes”‘x’", "»«", "^_^ :-) <3",
]
PARTS = [
    "the", " and", "The", " of", "ing", "'s", "'ll", "'", "1", "23", " 4", " ", "  ", "\n", "\n\n", "\t", ".", ",",
    "!?", " (", ")", "_", "Ä", "é", "ß", "中", "文字", "é", "Ω", "\xa0", "\u3000", "\U0001f680", "½", "٣", "-", "--",
    "=>", "<|im_end|>", "<|im", "://", "\\n",
]


def main():
    made = huggingface(gguf_file.Reader(sys.argv[1]))
    chance = random.Random(7)
    mixed = ["".join(chance.choice(PARTS) for _ in range(chance.randrange(2, 24))) for _ in range(200)]
    print("# written by tests/generate/tokens.py; do not edit")
    for text in NAMED + mixed:
        shown = escaped(text.encode())
        shown = shown.rstrip(" ") + "\\x20" * (len(shown) - len(shown.rstrip(" ")))  # no line ends in a space
        print(f"{' '.join(map(str, made.encode(text).ids))}|{shown}")


if __name__ == "__main__":
    main()
