"""A part of azure-sdk-tools, which is not on PyPI: the tests ask it for a credential, which key authentication needs not."""


def get_credential(**_):
    return None
