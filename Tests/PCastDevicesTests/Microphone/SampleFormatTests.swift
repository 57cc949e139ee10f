import PCastCore
import Testing

@testable import PCastDevices

@Suite("The sample formats of sound cards")
struct SampleFormatTests {
    private func floats(_ format: SampleFormat, _ bytes: [UInt8]) -> [Float] {
        var samples: [Float] = [1, 2, 3]
        bytes.withUnsafeBytes { format.floats($0, into: &samples) }
        return samples
    }

    @Test("every format is converted exactly: zero, half, the lowest, the highest")
    func formats() {
        #expect(
            floats(.signed16, [0, 0, 0x00, 0x40, 0x00, 0x80, 0xFF, 0x7F]) == [0, 0.5, -1, 32_767.0 / 32_768])
        #expect(floats(.signed32, [0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0x80]) == [0, 0.5, -1])
        #expect(
            floats(.packed24, [0, 0, 0, 0, 0, 0x40, 0, 0, 0x80, 0xFF, 0xFF, 0xFF]) == [0, 0.5, -1, -1.0 / 8_388_608])
        // The highest byte has no meaning.
        #expect(floats(.signed24, [0, 0, 0x40, 0x55, 0, 0, 0x80, 0, 0, 0, 0xC0, 0xFF]) == [0.5, -1, -0.5])
        #expect(floats(.float, [0, 0, 0, 0x3F, 0, 0, 0x80, 0xBF]) == [0.5, -1])
    }

    @Test("invalid numbers are silence")
    func noNumbers() { #expect(floats(.float, [0, 0, 0xC0, 0x7F, 0, 0, 0x80, 0xFF]) == [0, 0]) }

    @Test("an incomplete sample is dropped")
    func cut() { #expect(floats(.packed24, [0, 0, 0x40, 9, 9]) == [0.5]) }

    @Test("one channel is doubled, and many are averaged in pairs")
    func mix() {
        func mixed(_ from: Int, _ to: Int, _ samples: [Float]) -> [Float] {
            var result: [Float] = []
            ChannelMix(from: from, to: to).mix(samples, into: &result)
            return result
        }
        #expect(mixed(1, 2, [0.5, -0.25]) == [0.5, 0.5, -0.25, -0.25])
        #expect(mixed(2, 1, [0.5, 0.25, -1, 0]) == [0.375, -0.5])
        #expect(mixed(2, 2, [1, 2]) == [1, 2] && mixed(1, 1, [1, 2]) == [1, 2])
        #expect(mixed(4, 2, [0.5, 0.1, 0.25, 0.3]) == [0.375, 0.2])
        #expect(mixed(3, 2, [0.5, 0.1, 0.25]) == [0.375, 0.1])
        #expect(mixed(4, 1, [1, 0, 0, 0]) == [0.25])
    }

    @Test("no more is read than the elapsed time permits")
    func pace() {
        let start = Instant(nanoseconds: 1_000)
        var pace = SampleRateLimiter(rate: 48_000, capacity: 1_920, at: start)
        #expect(pace.allowed(at: start) == 1_920 && pace.wait(for: 1_920) == .zero)
        pace.take(1_920)
        #expect(pace.allowed(at: start) == 0)
        #expect((pace.wait(for: 480) - .milliseconds(10)).magnitude < .microseconds(20))
        #expect(pace.allowed(at: start + .milliseconds(10)) == 480)
        // The clock never goes back, and unread audio gives no credit.
        #expect(pace.allowed(at: start) == 480)
        #expect(pace.allowed(at: start + .seconds(60)) == 1_920)
        // A wait for more than the maximum ends.
        #expect(pace.wait(for: 5_000) == .zero)
        var taken = 0
        for step in 1...1_000 as ClosedRange<Int64> {
            let count = pace.allowed(at: start + .seconds(60) + .milliseconds(10 * step))
            pace.take(count)
            taken += count
        }
        // The allowance was full for the first ten milliseconds.
        #expect(abs(taken - 1_920 - 480_480 + 480) < 2)
    }
}
