"""The results of a trial: the record with the schema of its fields, answers item by item, and private data that a record must not have.

Nothing here reads or writes a record's file (`perfproof.store` does) or judges a record.
"""
