"""(in the making)"""
