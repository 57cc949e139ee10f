import Glibc
import PCastCore
import Testing

@testable import PCastRendering

@Suite("Withdrawn audio")
struct WithdrawnAudioTests {
    private static let origin = Instant(nanoseconds: 4_000_000_000)

    private static func tone(_ index: Int64) -> AudioFrame {
        let samples = (0..<960).flatMap { sample in
            let level = 0.5 * sin(2 * .pi * 500 * Double(index * 960 + Int64(sample)) / 48_000)
            return [Int16((level * 32_767).rounded()), Int16((level * 32_767).rounded())]
        }
        return AudioFrame(
            samples: samples, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: index * 960, rate: .opus))
    }

    private static func read(_ audio: inout AudioSchedule, _ chunk: Int64) -> [Float] {
        var samples = [Float](repeating: 0, count: 960)
        samples.withUnsafeMutableBufferPointer { target in
            _ = audio.read(
                from: origin + .milliseconds(10 * chunk), to: origin + .milliseconds(10 * chunk + 10), into: target)
        }
        return samples
    }

    @Test("audio fades out within two milliseconds, and later audio starts on time")
    func withdrawn() throws {
        var audio = AudioSchedule()
        for index in 0..<20 as Range<Int64> {
            audio.add(Self.tone(index), due: Self.origin + .milliseconds(20 * index))
        }
        var line: [Float] = []
        for chunk in 0..<7 as Range<Int64> { line += Self.read(&audio, chunk) }
        audio.discardPending()
        let withdrawn = line.count
        line += Self.read(&audio, 7)
        line += Self.read(&audio, 8)
        // No step exceeds that of the tone.
        let most = Float(0.5 * 2 * .pi * 500 / 48_000 * 1.3)
        for index in stride(from: 400, to: line.count - 2, by: 2) { #expect(abs(line[index + 2] - line[index]) < most) }
        #expect(line[withdrawn..<withdrawn + 40].contains { abs($0) > 0.01 })
        #expect(line[(withdrawn + 2 * 96)...].allSatisfy { $0 == 0 })
        // The audio continues later at another position.
        audio.add(Self.tone(100), due: Self.origin + .milliseconds(95))
        let next = Self.read(&audio, 9)
        let onset = try #require(next.firstIndex { abs($0) > 0.001 }) / 2
        #expect((240...250).contains(onset))
    }

    @Test("audio that is withdrawn before its time is never played")
    func early() {
        var audio = AudioSchedule()
        audio.add(Self.tone(0), due: Self.origin + .milliseconds(15))
        _ = Self.read(&audio, 0)
        audio.discardPending()
        for chunk in 1..<5 as Range<Int64> { #expect(Self.read(&audio, chunk).allSatisfy { $0 == 0 }) }
    }
}
