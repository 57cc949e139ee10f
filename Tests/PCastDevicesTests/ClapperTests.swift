import Glibc
import PCastCore
import Testing

@testable import PCastDevices

@Suite("The clapper")
struct ClapperTests {
    private let second: Int64 = 1_795_227_333

    private func frames(from index: Int64, count: Int, channels: Int) -> [AudioFrame] {
        let signal = ClapperSignal()
        return (0..<Int64(count)).map { frameIndex in
            AudioFrame(
                samples: signal.samples(from: index + frameIndex * 960, count: 960, channels: channels),
                channels: channels,
                captureTime: nil, timestamp: MediaTime(ticks: frameIndex * 960, rate: .opus))
        }
    }

    @Test("a tone of 1 kHz for 100 ms of each UTC second, from zero phase; noise at -60 dBFS otherwise")
    func signal() {
        let signal = ClapperSignal()
        let start = second * 48_000
        #expect(signal.sample(at: start) == 0)
        #expect(signal.sample(at: start + 12) == 8_192)
        #expect(signal.sample(at: start + 36) == -8_192)
        #expect(signal.sample(at: start + 4_764) == 8_192)
        let noise = (4_800..<48_000).map { Double(signal.sample(at: start + $0)) }
        let level = (noise.reduce(0) { $0 + $1 * $1 } / Double(noise.count)).squareRoot() / 32_768
        #expect(abs(20 * log10(level) + 60) < 0.5)
        #expect(noise.max()! < 70)
    }

    @Test("claps are detected wherever the frames are cut", arguments: [1, 2])
    func onset(_ channels: Int) throws {
        for shift: Int64 in [0, 1, 479, 700, 959] {
            var detector = ClapperDetector()
            var onsets: [Int64] = []
            let start = second * 48_000 - 24_000 - shift
            for (frameIndex, frame) in frames(from: start, count: 150, channels: channels).enumerated() {
                guard let offset = detector.listen(to: frame) else { continue }
                onsets.append(Int64(frameIndex) * 20_000_000 + offset.nanoseconds)
            }
            #expect(onsets.count == 3)
            for (number, onset) in onsets.enumerated() {
                let expected = 500_000_000 + shift * 1_000_000_000 / 48_000 + Int64(number) * 1_000_000_000
                #expect(abs(onset - expected) < 300_000, "off by \(onset - expected) ns")
            }
        }
    }

    @Test("other tones, noise and silence are no claps")
    func others() {
        for frequency in [440.0, 700, 1_500, 3_000] {
            var detector = ClapperDetector()
            for frameIndex in 0..<100 {
                let samples = (0..<960).map { index in
                    let time = Double(frameIndex * 960 + index) / 48_000
                    return frameIndex % 50 < 10 ? Int16(8_000 * sin(2 * .pi * frequency * time)) : 0
                }
                let frame = AudioFrame(
                    samples: samples, channels: 1, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus))
                #expect(detector.listen(to: frame) == nil, "\(frequency) Hz")
            }
        }
    }
}
