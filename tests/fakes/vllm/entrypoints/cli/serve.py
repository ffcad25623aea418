"""A stand-in for the command `vllm serve`: its flags, and how they get into a parser."""


def add_arguments(parser):
    parser.add_argument("model")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--served-model-name")
    parser.add_argument("--load-format")
    parser.add_argument("--distributed-executor-backend")
    parser.add_argument("--kv-cache-memory-bytes", type=int)
    parser.add_argument("--no-enable-prefix-caching", action="store_true")
    parser.add_argument("--enable-prefix-caching", action="store_true")
    parser.add_argument("--fake", action="append", default=[])
    parser.add_argument("--delay", type=float, default=0.0)


class ServeSubcommand:
    def subparser_init(self, subparsers):
        add_arguments(subparsers.add_parser("serve"))


def cmd_init():
    return [ServeSubcommand()]
