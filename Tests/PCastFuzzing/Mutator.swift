import PCastTestSupport

/// Mutates inputs. Equal seeds cause equal mutations.
public struct Mutator {
    private var generator: SeededGenerator
    private let corpus: [[UInt8]]

    /// Bytes at which parsers of lengths and counters often fail.
    private static let telling: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x0A, 0x0D, 0x22, 0x3A, 0x3D]

    /// The maximum size of an input in bytes.
    private static let maximumSize = 16_384

    /// Creates a mutator of examples. The corpus must not be empty. Equal seeds produce equal results.
    public init(corpus: [[UInt8]], seed: UInt64) {
        precondition(!corpus.isEmpty)
        self.corpus = corpus
        generator = SeededGenerator(seed: seed)
    }

    /// Returns one example of the corpus with one to eight mutations.
    public mutating func next() -> [UInt8] {
        var bytes = corpus.randomElement(using: &generator)!
        for _ in 0..<Int.random(in: 1...8, using: &generator) { mutate(&bytes) }
        return Array(bytes.prefix(Self.maximumSize))
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else {
            bytes.append(generator.byte())
            return
        }
        let index = Int.random(in: bytes.indices, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        case 1: bytes[index] = generator.byte()
        case 2: bytes[index] = Self.telling.randomElement(using: &generator)!
        case 3: bytes.removeSubrange(index...)
        case 4: bytes.insert(generator.byte(), at: index)
        case 5: bytes.removeSubrange(range(in: bytes))
        case 6: bytes.insert(contentsOf: bytes[range(in: bytes)], at: index)
        default:
            let other = corpus.randomElement(using: &generator)!
            bytes = Array(bytes[..<index]) + other.suffix(Int.random(in: 0...other.count, using: &generator))
        }
    }

    private mutating func range(in bytes: [UInt8]) -> Range<Int> {
        let first = Int.random(in: bytes.indices, using: &generator)
        return first..<min(bytes.count, first + Int.random(in: 1...32, using: &generator))
    }
}

extension SeededGenerator {
    fileprivate mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
}
