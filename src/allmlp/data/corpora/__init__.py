"""Corpora: sources of documents, images and pairs, and the digests that name their tokens.

spec        one corpus of the parameters: source, tokenizer, and the other corpora that it uses
sources     the kinds of sources
identity    the digest of a corpus, and `corpora.lock`
"""
