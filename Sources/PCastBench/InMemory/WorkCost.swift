/// The cost of one part of the work.
struct WorkCost {
    var packets = 0
    var frames = 0
    var allocations = 0
    var nanoseconds: Int64 = 0

    var allocationsPerPacket: Double { Double(allocations) / Double(max(1, packets)) }
    var allocationsPerFrame: Double { Double(allocations) / Double(max(1, frames)) }
    var nanosecondsPerPacket: Double { Double(nanoseconds) / Double(max(1, packets)) }

    static func + (left: WorkCost, right: WorkCost) -> WorkCost {
        WorkCost(
            packets: left.packets + right.packets, frames: left.frames + right.frames,
            allocations: left.allocations + right.allocations, nanoseconds: left.nanoseconds + right.nanoseconds)
    }
}
