import pytest

from diffhash import native


@pytest.fixture(params=native.available_kernels(), scope="session")
def kernel(request):
    """Every implementation that this CPU can run, NumPy's included."""
    return request.param
