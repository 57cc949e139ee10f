import Glibc
import PCastCore

/// Forwards a stream to viewers in memory for a number of milliseconds, and prints the number of packets.
///
/// Usage: `PCastForwarding VIEWERS MILLISECONDS`. Callgrind counts the SFU's instructions, and a preloaded
/// `scripts/malloc-counter.c` counts allocations. Neither count depends on the machine's load.
@main
enum ForwardingProgram {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard arguments.count == 2, let harness = try ForwardingSetup(viewers: arguments[0]) else {
            print("usage: PCastForwarding VIEWERS MILLISECONDS")
            exit(64)
        }
        // During the first second, logs fill up and tables grow to their size.
        harness.forward(for: .seconds(1), isCounted: false)
        let allocations = ForwardingCounters.allocations
        let time = ForwardingCounters.processorTime
        harness.forward(for: .milliseconds(Int64(arguments[1])), isCounted: true)
        let spent = ForwardingCounters.processorTime - time
        print("packets=\(harness.forwarded)")
        print("runs=\(harness.runs)")
        print("nanoseconds=\(spent)")
        if let allocations, let after = ForwardingCounters.allocations { print("allocations=\(after - allocations)") }
    }
}
