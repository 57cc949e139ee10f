import PCastCore
import Testing

@testable import PCastRendering

@Suite("What a terminal sends")
struct TerminalInputTests {
    private func read(_ text: String) -> [TerminalInput.Item] {
        var input = TerminalInput()
        return input.take(Array(text.utf8))
    }

    @Test("keys, and the same key in capitals")
    func keys() {
        #expect(read("qM \r") == [.key(.character("q")), .key(.character("m")), .key(.character(" ")), .key(.enter)])
        #expect(read("\u{1B}[A\u{1B}[D\u{1B}OC") == [.key(.up), .key(.left), .key(.right)])
        #expect(read("\u{1B}") == [.key(.escape)])
    }

    @Test("answers: what it can, how large its cells are, and that it has said everything")
    func answers() {
        let kitty = "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[6;18;9t\u{1B}[?62;c"
        #expect(read(kitty) == [.graphics(true), .cell(Dimensions(width: 9, height: 18)), .attributes])
        #expect(read("\u{1B}_Gi=31;ENOTSUPPORTED:no\u{1B}\\\u{1B}[?1;2c") == [.graphics(false), .attributes])
        #expect(read("\u{1B}[6;0;9t\u{1B}[6;99999;9tq") == [.key(.character("q"))])
    }

    @Test("an answer that comes in pieces is the same answer, wherever it is cut behind its first byte")
    func pieces() {
        let bytes = Array("\u{1B}_Gi=31;OK\u{1B}\\".utf8)
        for cut in 2..<bytes.count {
            var input = TerminalInput()
            #expect(input.take(bytes[..<cut]) + input.take(bytes[cut...]) == [.graphics(true)])
        }
    }

    @Test("a click is the press of the left button, by xterm's mode 1006 and by its older form; all else is none")
    func clicks() {
        var input = TerminalInput()
        #expect(input.take(Array("\u{1B}[<0;12;3M\u{1B}[<0;12;3m".utf8)) == [.click])
        // With Shift held; the right button; the wheel; motion.
        #expect(input.take(Array("\u{1B}[<4;1;1M\u{1B}[<2;1;1M\u{1B}[<64;1;1M\u{1B}[<32;1;1M".utf8)) == [.click])
        #expect(input.take(Array("\u{1B}[M q!".utf8)) == [.click])
        #expect(input.take(Array("\u{1B}[M#q!q".utf8)) == [.key(.character("q"))])
        #expect(input.take(Array("\u{1B}[M ".utf8)) == [])
        #expect(input.take(Array("qq".utf8)) == [.click])
    }

    @Test("what has no end is forgotten")
    func endless() {
        var input = TerminalInput()
        _ = input.take(Array("\u{1B}_".utf8) + [UInt8](repeating: 0x41, count: 2_000))
        #expect(input.take(Array("q".utf8)) == [.key(.character("q"))])
    }

    @Test("whatever comes, nothing breaks and little is kept", arguments: UInt64(1)...20)
    func noise(seed: UInt64) {
        var state = seed
        var input = TerminalInput()
        for _ in 0..<200 {
            let bytes = (0..<50).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1
                let value = UInt8(state >> 56)
                return value < 60 ? 0x1B : value
            }
            _ = input.take(bytes)
        }
    }

    @Test("who has written much waits for as long as that is allowed to take")
    func budget() {
        let start = Instant(nanoseconds: 1_000)
        var budget = ByteBudget(bytesPerSecond: 1_000)
        #expect(budget.earliest(at: start) == start)
        budget.wrote(500, at: start)
        #expect(budget.earliest(at: start) == start + .milliseconds(500))
        budget.wrote(250, at: start)
        #expect(budget.earliest(at: start) == start + .milliseconds(750))
        // A pause is no credit.
        let later = start + .seconds(10)
        #expect(budget.earliest(at: later) == later)
    }
}
