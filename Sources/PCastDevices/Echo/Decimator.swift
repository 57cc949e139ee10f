import Glibc

/// Decimates audio from 48 kHz to 8 kHz with a low-pass filter.
struct Decimator {
    static let factor = 6

    /// The number of filter taps.
    private static let tapCount = 72

    private var history: [Float]
    private let taps: [Float]

    /// Creates a decimator for blocks whose length is a multiple of `factor`.
    init(blockLength: Int) {
        precondition(blockLength.isMultiple(of: Self.factor))
        history = Array(repeating: 0, count: Self.tapCount + blockLength)
        // The filter is a sinc with a cutoff of 3.4 kHz in a Hann window.
        let cutoff = 3_400.0 / 24_000
        var taps = (0..<Self.tapCount).map { tap -> Double in
            let distance = Double(tap) - Double(Self.tapCount - 1) / 2
            let window = 0.5 - 0.5 * cos(2 * .pi * (Double(tap) + 0.5) / Double(Self.tapCount))
            return window * sin(.pi * cutoff * distance) / (.pi * distance)
        }
        let sum = taps.reduce(0, +)
        for tap in taps.indices { taps[tap] /= sum }
        self.taps = taps.map(Float.init)
    }

    /// Decimates a block to a sixth of its length.
    mutating func decimate(_ block: VectorBuffer, into target: VectorBuffer) {
        let length = history.count - Self.tapCount
        for index in 0..<Self.tapCount { history[index] = history[index + length] }
        for index in 0..<length { history[Self.tapCount + index] = block.floats[index] }
        for index in 0..<length / Self.factor {
            var sum: Float = 0
            for tap in 0..<Self.tapCount { sum += history[index * Self.factor + tap + 1] * taps[tap] }
            target.floats[index] = sum
        }
    }
}
