"""Bad inputs, one a file. A package, since tests/python has a conftest of its own that its tests import by name."""
