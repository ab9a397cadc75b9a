def build_shim():
    return None
