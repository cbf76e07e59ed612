"""Corpora, tokenizers, tokens, images, and the tasks that draw batches from them."""
