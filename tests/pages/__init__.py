"""The pages of `make docs`: README and docs/, with a reference that is made from the code when they are built.

navigation.yaml   the parts, and the pages of each in order
requirements.txt  the generator and its themes; they are no packages of the project
conf.py           the generator's settings
sources           everything that the generator reads, in one folder
commands, parameters, files, columns, interface, errata: a page each from the code
markdown          what these write with
docstrings        the house's docstrings as the generator's own markup
"""
