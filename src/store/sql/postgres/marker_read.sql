SELECT application, version, deployment FROM mainspring
