import PCastFuzzing
import Testing

@Suite struct FuzzTargetTests {
    @Test("every example of a corpus is valid input", arguments: FuzzTarget.allCases)
    func corpusIsRead(target: FuzzTarget) throws {
        #expect(!target.corpus.isEmpty)
        for (index, example) in target.corpus.enumerated() {
            #expect(try target.run(example), "\(target), example \(index)")
        }
    }

    @Test("what must hold does when examples are cut short at any byte", arguments: FuzzTarget.allCases)
    func truncated(target: FuzzTarget) {
        for example in target.corpus {
            // Long texts at every seventh byte.
            for length in stride(from: 0, to: example.count, by: example.count > 1500 ? 7 : 1) {
                holds(target, Array(example[..<length]))
            }
        }
    }

    @Test("what must hold does for damaged inputs", arguments: FuzzTarget.allCases)
    func mutated(target: FuzzTarget) {
        var mutator = Mutator(corpus: target.corpus, seed: 0x5EED)
        var read = 0
        // Handshakes take their time.
        let count = [.dtls, .relayMedia, .callMedia].contains(target) ? 200 : 2000
        for _ in 0..<count where holds(target, mutator.next()) { read += 1 }
        // Damage that never gets past the first parser, or never stops there, tests little.
        #expect((1..<count).contains(read), "\(target): \(read) inputs were read")
    }

    @Test("inputs that once broke a target hold", arguments: Crashers.all)
    func crashers(target: FuzzTarget, input: [UInt8]) {
        holds(target, input)
    }

    @discardableResult
    private func holds(_ target: FuzzTarget, _ input: [UInt8]) -> Bool {
        do {
            return try target.run(input)
        } catch {
            Issue.record("\(target): \(error) for \(input.map { String($0, radix: 16) }.joined(separator: " "))")
            return false
        }
    }
}
