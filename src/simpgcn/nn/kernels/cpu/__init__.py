"""The kernels in C, as :mod:`simpgcn.compiled` makes and calls them."""
