import Foundation

/// The share of this machine's processors that other programs used during a test. A test of smoothness says nothing
/// about this product if its programs could not run.
struct ForeignLoad: Sendable {
    /// The share of all processors beyond which smoothness is not judged.
    private static let bearable = 0.2
    /// The duration of a frame at thirty per second. If the machine stood still for longer, a second frame arrived
    /// before the first was shown.
    private static let bearableStandstill = Duration.milliseconds(30)

    private let beginning = ForeignLoad.reading()
    private let pulse = MachinePulse()

    /// Whether the machine was available to the test until now, after all its programs have ended. If not, this is
    /// reported for `scripts/test` to collect.
    func isBearable() -> Bool {
        let standstill = pulse.longestStandstill
        if standstill > Self.bearableStandstill {
            print("left out: whether pictures ran smoothly: the machine stood still for \(standstill)")
            return false
        }
        let (begun, now) = (beginning, Self.reading())
        let capacity = now.capacity - begun.capacity
        guard capacity > 0 else { return true }
        let share = ((now.busy - begun.busy) - (now.own - begun.own)) / capacity
        guard share > Self.bearable else { return true }
        let percent = Int((share * 100).rounded())
        print("left out: whether pictures ran smoothly: other programs took \(percent) % of the processors meanwhile")
        return false
    }

    /// Returns seconds of processor time since the start of the machine, and of this process and its children.
    private static func reading() -> (busy: Double, capacity: Double, own: Double) {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let fields = text.prefix { $0 != "\n" }.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard fields.count >= 8 else { return (0, 0, 0) }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // user nice system idle iowait irq softirq steal (proc_stat(5))
        let capacity = fields[..<8].reduce(0, +) / ticks
        let own = own(RUSAGE_SELF.rawValue) + own(RUSAGE_CHILDREN.rawValue)
        return (capacity - (fields[3] + fields[4]) / ticks, capacity, own)
    }

    private static func own(_ whose: __rusage_who_t) -> Double {
        var usage = rusage()
        getrusage(whose, &usage)
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return Double(user.tv_sec + system.tv_sec) + Double(user.tv_usec + system.tv_usec) * 1e-6
    }
}
