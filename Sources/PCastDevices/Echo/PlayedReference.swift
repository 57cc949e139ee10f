import PCastCodecs
import PCastIO
import PCastMedia

/// What was played, read on the microphone's time: as much later as sound takes to be heard, and at the pace of the
/// microphone's clock. Times and places are in ticks of 48 kHz of the monotonic clock, and fractions of them.
final class PlayedReference {
    /// Jumps of the microphone's time that are no jitter: samples were lost, or the device began anew.
    private static let tolerance = 240.0

    /// The blocks that were read.
    let far: FarEnd

    /// The newest of them.
    let block = VectorBuffer(count: EchoBlock.sampleCount)

    /// How much later than it was played the reference is read; nil until it is aligned.
    private(set) var lag: Double?

    private let sound: PlayedSound
    private var line = FractionalResampler(channels: 1, step: 1)

    /// The place that is the line's beginning.
    private var origin: Int64 = 0

    /// The place that is read next.
    private var place = 0.0
    private var samples = [Int16](repeating: 0, count: 512)
    private var floats = [Float](repeating: 0, count: 512)

    init(_ sound: PlayedSound, transform: RealTransform) {
        self.sound = sound
        far = FarEnd(transform: transform)
    }

    /// Reads from now on so much later than it was played. What an echo's path reaches back to is read again.
    func align(lag: Double, at time: Double, pace: Double) {
        self.lag = lag
        let blocks = EchoBlock.partCount + 2
        place = time - lag - Double(blocks * EchoBlock.sampleCount) * (1 + pace)
        origin = Int64(place) - Int64(line.reach) - 1
        line.restart()
        for _ in 0..<blocks { advance(pace: pace) }
    }

    /// The microphone's next block is of `time`. Answers true when that was no continuation, so that the reference had
    /// to be aligned anew: after a pause, or when the device lost samples.
    func resume(at time: Double, pace: Double) -> Bool {
        guard let lag else { return false }
        if abs(time - lag - place) < Self.tolerance {
            // The clocks need not agree on how many samples there are in a second.
            self.lag = time - place
            return false
        }
        align(lag: lag, at: time, pace: pace)
        return true
    }

    /// Reads the next block.
    func advance(pace: Double) {
        let first = place - Double(origin)
        let step = 1 + pace
        let needed = Int64(first + step * Double(EchoBlock.sampleCount)) + Int64(line.reach) + 2
        while line.end < needed { append(Int(min(needed - line.end, Int64(samples.count)))) }
        line.read(from: first, step: step, into: UnsafeMutableBufferPointer(start: block.floats, count: block.count))
        place += step * Double(EchoBlock.sampleCount)
        line.forget(before: place - Double(origin))
        far.append(block)
    }

    private func append(_ count: Int) {
        samples.withUnsafeMutableBufferPointer {
            sound.read(from: origin + line.end, into: UnsafeMutableBufferPointer(rebasing: $0[..<count]))
        }
        for index in 0..<count { floats[index] = Float(samples[index]) }
        floats.withUnsafeBufferPointer { line.append(UnsafeBufferPointer(rebasing: $0[..<count])) }
    }
}
