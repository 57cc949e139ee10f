import Testing

/// Tests on real drivers, which run in the virtual machine and nowhere else: one at a time, as there is one machine.
@Suite(.enabled(if: Machine.isHere, "these run in the virtual machine: scripts/machine test"), .serialized)
enum Hardware {}
