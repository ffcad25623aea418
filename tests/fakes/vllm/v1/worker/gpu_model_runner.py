from vllm.v1.worker.batch import Batch


class GPUModelRunner:
    def execute_model(self):
        return Batch().swap(1, 2)
