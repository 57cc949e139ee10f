import Glibc
import PCastCore

/// Forwards a stream to viewers in memory, for as many milliseconds as are said, and writes how many packets that were.
///
/// `PCastForwarding VIEWERS MILLISECONDS`. Run under callgrind it tells how many instructions the relay takes for a
/// packet, and with `scripts/malloc-counter.c` preloaded how often it allocates; neither depends on the machine's load.
@main
enum ForwardingProgram {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard arguments.count == 2, let stage = try ForwardingStage(viewers: arguments[0]) else {
            print("usage: PCastForwarding VIEWERS MILLISECONDS")
            exit(64)
        }
        // Logs fill up, and tables grow to their size.
        stage.forward(for: .seconds(1), isCounted: false)
        let allocations = ForwardingCounters.allocations
        let time = ForwardingCounters.processorTime
        stage.forward(for: .milliseconds(Int64(arguments[1])), isCounted: true)
        let spent = ForwardingCounters.processorTime - time
        print("packets=\(stage.forwarded)")
        print("runs=\(stage.runs)")
        print("nanoseconds=\(spent)")
        if let allocations, let after = ForwardingCounters.allocations { print("allocations=\(after - allocations)") }
    }
}
