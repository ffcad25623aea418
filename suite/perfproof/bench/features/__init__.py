"""What single features add to a step or a request: adapters (LoRA), images and other media, pooling."""
