import PCastCore
import Testing

@Suite("Captions by the capture time of a frame")
struct CaptionGateTests {
    private static let origin = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)
    private var gate = CaptionGate()

    private static func at(_ milliseconds: Int64) -> WallTime { origin + .milliseconds(milliseconds) }

    private mutating func add(_ text: String, _ begin: Int64, _ end: Int64) {
        gate.add(
            CaptionCue(text: text, captureTime: Self.at(begin), duration: .milliseconds(end - begin)))
    }

    private func text(_ milliseconds: Int64) -> String? { gate.text(at: Self.at(milliseconds)) }

    @Test("A cue is shown from the frame of its capture time to the last one before its end")
    mutating func bounds() {
        #expect(text(0) == nil)
        add("a", 1_000, 2_000)
        #expect(text(999) == nil && text(1_000) == "a" && text(1_999) == "a" && text(2_000) == nil)
    }

    @Test("A viewer that is behind sees the text that belongs to its frame")
    mutating func behind() {
        add("a", 1_000, 2_000)
        add("b", 31_000, 32_000)
        // One viewer displays the frame of 31 s, and another one that of 1 s, at the same moment.
        #expect(text(31_000) == "b" && text(1_500) == "a" && text(30_000) == nil)
    }

    @Test("Overlapping cues stand one below the other, in the order of their capture times")
    mutating func overlap() {
        add("b", 1_500, 3_000)
        add("a", 1_000, 2_000)
        #expect(text(1_200) == "a" && text(1_700) == "a\nb" && text(2_500) == "b")
    }

    @Test("A repeated cue is shown once")
    mutating func repeated() {
        add("a", 1_000, 2_000)
        add("a", 1_000, 2_000)
        #expect(gate.cues.count == 1 && text(1_000) == "a")
    }

    @Test("The next change is the next beginning or end")
    mutating func changes() {
        add("a", 1_000, 2_000)
        add("b", 1_500, 3_000)
        var time = Self.at(0)
        var changes: [WallTime] = []
        while let next = gate.change(after: time) {
            changes.append(next)
            time = next
        }
        #expect(changes == [1_000, 1_500, 2_000, 3_000].map(Self.at))
    }

    @Test("The earliest cues are removed beyond the capacity, and those that have ended when they are asked to be")
    mutating func capacity() {
        let count = Int64(CaptionGate.capacity)
        for number in (0..<count + 10).reversed() { add("\(number)", number * 100, number * 100 + 100) }
        #expect(gate.cues.count == CaptionGate.capacity)
        #expect(text(900) == nil && text(1_000) == "10" && text((count + 9) * 100) == "\(count + 9)")
        gate.removeAll(endedBefore: Self.at((count + 9) * 100))
        #expect(gate.cues.map(\.text) == ["\(count + 8)", "\(count + 9)"])
    }
}
