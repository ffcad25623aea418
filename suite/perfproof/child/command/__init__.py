"""What runs inside the processes of a command: a folder that goes to the front of their `PYTHONPATH`."""
