/// Control sequences (ECMA-48 and xterm).
enum TerminalSequence {
    /// The other screen, no cursor, no new line at the right edge, and reports of the mouse's buttons (modes 1000 and
    /// 1006).
    static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?1000h\u{1B}[?1006h\u{1B}[2J".utf8)

    /// Aborts unfinished output: CAN ends a control sequence, ST a string.
    static let breakOff = Array("\u{18}\u{1B}\\".utf8)

    /// Restores the previous screen.
    static let leave = Array("\u{1B}[?2026l\u{1B}[0m\u{1B}[?1006l\u{1B}[?1000l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

    static let clear = Array("\u{1B}[0m\u{1B}[2J".utf8)
    static let plain = Array("\u{1B}[0m".utf8)

    /// Starts a synchronized update (mode 2026). Terminals that do not support it ignore it.
    static let beginUpdate = Array("\u{1B}[?2026h".utf8)
    static let endUpdate = Array("\u{1B}[?2026l".utf8)

    /// Queries kitty's graphics protocol, the size of a cell, and the device attributes. Every terminal answers the
    /// last one, after the others.
    static let question = Array("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[16t\u{1B}[c".utf8)

    static func move(column: Int, row: Int) -> [UInt8] { Array("\u{1B}[\(row + 1);\(column + 1)H".utf8) }

    static func forward(_ columns: Int) -> [UInt8] {
        columns == 1 ? [0x1B, 0x5B, 0x43] : Array("\u{1B}[\(columns)C".utf8)
    }

    /// Returns the sequence that sets a 24-bit color (0xRRGGBB). The kind is 38 for the foreground and 48 for the
    /// background.
    static func colour(_ kind: Int, _ colour: UInt32) -> [UInt8] {
        Array("\u{1B}[\(kind);2;\(colour >> 16 & 0xFF);\(colour >> 8 & 0xFF);\(colour & 0xFF)m".utf8)
    }
}
