import PCastCore

/// Mixes the audio of several inputs by its presentation times, as 16-bit stereo at 48 kHz.
///
/// Audio is added at sample positions, and taken in blocks of 20 ms in order. Audio whose block was taken already is
/// dropped, and so is audio more than twelve seconds ahead. A block into which no input has written is left out.
struct AudioMixer: Sendable {
    /// An input of the mixer.
    enum Input: Int, Sendable, CaseIterable {
        /// The audio of the played content.
        case content
        /// The audio of a page over the video.
        case page
    }

    /// The number of samples per channel in a block (20 ms).
    static let block: Int64 = 960
    /// The number of blocks that can be filled in advance (12 s).
    static let capacity: Int64 = 600
    /// The deviation from the end of an input's audio that is a rounding error (2 ms).
    private static let tolerance: Int64 = 96

    /// The position of the first sample of the next block, a multiple of ``block``.
    private(set) var start: Int64
    /// The sums of the samples, in a ring of blocks.
    private var sums: [Int32]
    /// Whether an input has written into each block of the ring.
    private var isWritten: [Bool]
    /// The end of the audio of each input; nil before its first audio.
    private var ends: [Int64?]

    /// Creates a mixer without audio. Its first block begins at `position`, which must not be negative, or up to 20 ms
    /// later.
    init(from position: Int64) {
        start = (position + Self.block - 1) / Self.block * Self.block
        sums = Array(repeating: 0, count: Int(Self.capacity * Self.block) * 2)
        isWritten = Array(repeating: false, count: Int(Self.capacity))
        ends = Array(repeating: nil, count: Input.allCases.count)
    }

    /// Adds the audio of an input at the position of its first sample.
    mutating func add(_ audio: AudioFrame, of input: Input, at position: Int64) {
        var first = position
        if let end = ends[input.rawValue], abs(end - position) <= Self.tolerance { first = end }
        ends[input.rawValue] = first + Int64(audio.sampleCount)
        let last = min(first + Int64(audio.sampleCount), start + Self.capacity * Self.block)
        let begin = max(first, start)
        guard begin < last else { return }
        for position in begin..<last {
            let source = Int(position - first) * audio.channels
            let target = Int(position % (Self.capacity * Self.block)) * 2
            sums[target] += Int32(audio.samples[source])
            sums[target + 1] += Int32(audio.samples[source + audio.channels - 1])
        }
        for block in begin / Self.block...(last - 1) / Self.block { isWritten[Int(block % Self.capacity)] = true }
    }

    /// Returns the position and the interleaved samples of the next block, and removes it. The samples are nil if the
    /// block has no audio. Sums beyond 16 bits are clipped.
    mutating func take() -> (position: Int64, samples: [Int16]?) {
        let (position, index) = (start, Int(start / Self.block % Self.capacity))
        start += Self.block
        guard isWritten[index] else { return (position, nil) }
        isWritten[index] = false
        let range = index * Int(Self.block) * 2..<(index + 1) * Int(Self.block) * 2
        let samples = sums[range].map { Int16(clamping: $0) }
        for place in range { sums[place] = 0 }
        return (position, samples)
    }
}
