import Testing

/// Tests on real drivers. They run in the virtual machine only, and one at a time, because there is one machine.
@Suite(.enabled(if: Machine.isHere, "these run in the virtual machine: scripts/machine test"), .serialized)
enum Hardware {}
