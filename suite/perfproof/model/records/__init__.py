"""What a trial left: the record with the shapes of its fields, answers item by item, and what a record must not say.

No file is read or written here (`perfproof.store` does), and no record is judged.
"""
