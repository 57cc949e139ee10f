/// What a terminal is written (ECMA-48, and xterm's control sequences).
enum TerminalSequence {
    /// The other screen, no cursor, no new line at the right edge, and reports of the mouse's buttons (modes 1000 and 1006).
    static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?1000h\u{1B}[?1006h\u{1B}[2J".utf8)

    /// Breaks off what was being written: a control sequence by CAN, a string by ST.
    static let breakOff = Array("\u{18}\u{1B}\\".utf8)

    /// Back to what was there.
    static let leave = Array("\u{1B}[?2026l\u{1B}[0m\u{1B}[?1006l\u{1B}[?1000l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

    static let clear = Array("\u{1B}[0m\u{1B}[2J".utf8)
    static let plain = Array("\u{1B}[0m".utf8)

    /// Nothing is shown until the end of the update, by terminals that know it (mode 2026); others pass it over.
    static let beginUpdate = Array("\u{1B}[?2026h".utf8)
    static let endUpdate = Array("\u{1B}[?2026l".utf8)

    /// Asks whether it can show kitty's graphics, how large its cells are, and what it is: the last is answered by every
    /// terminal, after the others.
    static let question = Array("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[16t\u{1B}[c".utf8)

    static func move(column: Int, row: Int) -> [UInt8] { Array("\u{1B}[\(row + 1);\(column + 1)H".utf8) }

    static func forward(_ columns: Int) -> [UInt8] {
        columns == 1 ? [0x1B, 0x5B, 0x43] : Array("\u{1B}[\(columns)C".utf8)
    }

    /// - Parameters:
    ///   - kind: 38 for the ink, 48 for the ground.
    ///   - colour: 0xRRGGBB.
    static func colour(_ kind: Int, _ colour: UInt32) -> [UInt8] {
        Array("\u{1B}[\(kind);2;\(colour >> 16 & 0xFF);\(colour >> 8 & 0xFF);\(colour & 0xFF)m".utf8)
    }
}
