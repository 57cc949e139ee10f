import Testing

/// Tests on real drivers, which run in the virtual machine and nowhere else: one at a time, as there is one machine.
@Suite(.enabled(if: Machine.isHere, "left out: tests on real drivers run in the virtual machine"), .serialized)
enum Hardware {}
