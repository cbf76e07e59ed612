"""Corpora of images with labels, for classification, and their sources.

    corpora:
      digits:     {source: digits}                       # scikit-learn's, needs no download
      cifar10:    {source: images, files: train.parquet, test_files: test.parquet, size: [32, 32, 3], classes: 10}
      cifar5m:    {source: npz, parts: [{url: https://..., sha256: ...}], size: [32, 32, 3], classes: 10}

Each gives `pieces(root)`: its images in order, a few thousand at a time. `size` (height, width, channels) and
`classes` are given in config/corpora.yaml, so that a plan needs no data; data of another form are refused.
"""
