import PCastCodecs
import PCastIO
import PCastMedia

/// Tells `PlayedSound` what a device puts out, on the machine's clock: a microphone that hears it is captured on that clock,
/// and what a crystal is off by would be an echo that wanders. It is told the time.
struct PlayedTap {
    /// What is told at once.
    private static let length = TimeSpan.milliseconds(10)

    /// In how many chunks the place is brought to where the clock says that it is.
    private static let patience = 200.0

    private var line: FractionalResampler
    private var mixed: [Float] = []
    private var read: [Float]
    private var told: [Int16]

    /// Where in what the device was given the next chunk begins, and when that is heard; nil at the beginning.
    private var place = 0.0
    private var next: Instant?

    private let loudspeaker: Loudspeaker

    /// - Parameters:
    ///   - rate: of the device, in samples a second.
    ///   - loudspeaker: what is told.
    init(rate: Int, loudspeaker: Loudspeaker) {
        self.loudspeaker = loudspeaker
        line = FractionalResampler(channels: 1, step: Double(rate) / Double(AudioFrame.sampleRate))
        let count = Int(ClockRate.opus.ticks(in: Self.length))
        read = Array(repeating: 0, count: count)
        told = Array(repeating: 0, count: count)
    }

    /// The device was started again, and counts its samples from zero.
    mutating func restart() {
        line.restart()
        place = 0
        next = nil
    }

    /// The device was given this, two channels interleaved.
    mutating func put(_ samples: ArraySlice<Int16>, clock: SampleClock) {
        mixed.removeAll(keepingCapacity: true)
        for index in stride(from: samples.startIndex, to: samples.endIndex - 1, by: 2) {
            mixed.append((Float(samples[index]) + Float(samples[index + 1])) / 2)
        }
        mixed.withUnsafeBufferPointer { line.append($0) }
        while tell(clock) {}
    }

    /// Answers false when that needs more sound.
    private mutating func tell(_ clock: SampleClock) -> Bool {
        guard let start = next ?? clock.instant(of: place), let target = clock.position(at: start),
            let end = clock.position(at: start + Self.length)
        else { return false }
        // What the clock learns is taken over slowly, unless it had been far off.
        if abs(target - place) > Loudspeaker.tolerance.seconds * clock.rate {
            next = clock.instant(of: place)
            return next != nil
        }
        let step = (end - target + (target - place) / Self.patience) / Double(read.count)
        guard place + step * Double(read.count) <= line.lastPlace else { return false }
        read.withUnsafeMutableBufferPointer { line.read(from: place, step: step, into: $0) }
        for index in read.indices { told[index] = Int16(min(max(read[index].rounded(), -32_768), 32_767)) }
        told.withUnsafeBufferPointer { loudspeaker.play($0, channels: 1, from: start) }
        place += step * Double(read.count)
        next = start + Self.length
        line.forget(before: place)
        return true
    }
}
