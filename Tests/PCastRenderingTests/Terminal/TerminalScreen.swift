import Foundation

/// A small terminal. It interprets its input and stores the visible content. It supports the sequences of ECMA-48,
/// xterm and kitty's protocol that are used here, and records unknown ones.
struct TerminalScreen {
    struct Cell: Equatable {
        var upper: UInt32 = 0
        var lower: UInt32 = 0
    }

    /// An image of kitty that is placed at a cell.
    struct Image: Equatable {
        var width = 0
        var height = 0
        var columns = 0
        var rows = 0
        var column = 0
        var row = 0
        /// The red, green and blue of each pixel.
        var bytes: [UInt8] = []
    }

    let columns: Int
    let rows: Int
    private(set) var cells: [Cell]
    private(set) var images: [Int: Image] = [:]
    private(set) var isCursorHidden = false
    private(set) var isAlternate = false
    /// The sequences that were not understood.
    private(set) var unknown: [String] = []
    /// The enabled modes of mouse reports.
    private(set) var mouseModes: Set<Int> = []
    /// The total number of cells that were written.
    private(set) var writtenCells = 0

    private var column = 0
    private var row = 0
    private var ink: UInt32 = 0xAAAAAA
    private var ground: UInt32 = 0
    private var transmission: (head: [String: String], text: String)?

    init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        cells = Array(repeating: Cell(), count: columns * rows)
    }

    func cell(_ column: Int, _ row: Int) -> Cell { cells[row * columns + column] }

    mutating func take(_ bytes: [UInt8]) {
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case 0x1B: index = escape(bytes, index)
            case 0x18: index += 1
            case 0x20:
                put(Cell(upper: ground, lower: ground))
                index += 1
            case 0xE2 where bytes[index...].starts(with: [0xE2, 0x96, 0x80]):
                put(Cell(upper: ink, lower: ground))
                index += 3
            default:
                unknown.append("byte \(bytes[index])")
                index += 1
            }
        }
    }

    private mutating func put(_ cell: Cell) {
        guard column < columns, row < rows else { return unknown.append("written beside the screen") }
        cells[row * columns + column] = cell
        writtenCells += 1
        column += 1
    }

    /// Returns the index at which the sequence ends.
    private mutating func escape(_ bytes: [UInt8], _ start: Int) -> Int {
        switch bytes[start + 1] {
        case 0x5B:
            let end = bytes[(start + 2)...].firstIndex { (0x40...0x7E).contains($0) }!
            control(String(decoding: bytes[(start + 2)...end], as: UTF8.self))
            return end + 1
        case 0x5F:
            var end = start + 2
            while !(bytes[end] == 0x1B && bytes[end + 1] == 0x5C) { end += 1 }
            graphics(String(decoding: bytes[(start + 2)..<end], as: UTF8.self))
            return end + 2
        case 0x5C: return start + 2
        default:
            unknown.append("escape \(bytes[start + 1])")
            return start + 2
        }
    }

    private mutating func control(_ text: String) {
        let numbers = text.dropLast().split(separator: ";").map { Int($0) ?? -1 }
        switch (text.last, text) {
        case (_, "?25l"): isCursorHidden = true
        case (_, "?25h"): isCursorHidden = false
        case (_, "?1049h"): isAlternate = true
        case (_, "?1049l"): isAlternate = false
        case (_, "?1000h"), (_, "?1006h"): mouseModes.insert(text.hasPrefix("?1000") ? 1_000 : 1_006)
        case (_, "?1000l"), (_, "?1006l"): mouseModes.remove(text.hasPrefix("?1000") ? 1_000 : 1_006)
        case (_, "?7l"), (_, "?7h"), (_, "?2026h"), (_, "?2026l"), (_, "16t"), (_, "c"): break
        case ("H", _) where numbers.count == 2: (row, column) = (numbers[0] - 1, numbers[1] - 1)
        case ("C", _): column += numbers.first ?? 1
        case (_, "2J"): cells = Array(repeating: Cell(), count: columns * rows)
        case (_, "0m"): (ink, ground) = (0xAAAAAA, 0)
        case ("m", _) where numbers.count == 5 && numbers[1] == 2:
            let colour = UInt32(numbers[2]) << 16 | UInt32(numbers[3]) << 8 | UInt32(numbers[4])
            if numbers[0] == 38 { ink = colour } else { ground = colour }
        default: unknown.append("CSI \(text)")
        }
    }

    private mutating func graphics(_ text: String) {
        let parts = text.dropFirst().split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        var head: [String: String] = [:]
        for pair in parts[0].split(separator: ",") {
            let words = pair.split(separator: "=")
            head[String(words[0])] = String(words[1])
        }
        if head["a"] == "d" { return images.removeAll() }
        if head["a"] == "q" { return }
        let data = parts.count > 1 ? String(parts[1]) : ""
        if data.utf8.count > 4_096 { unknown.append("a piece of \(data.utf8.count)") }
        var current = transmission ?? (head, "")
        current.text += data
        transmission = current
        if head["m"] == "1" { return }
        transmission = nil
        let first = current.head
        guard first["a"] == "T", first["f"] == "24", let bytes = Data(base64Encoded: current.text),
            let number = first["i"].flatMap({ Int($0) })
        else { return unknown.append("graphics \(first)") }
        let value = { (key: String) in first[key].flatMap { Int($0) } ?? 0 }
        let image = Image(
            width: value("s"), height: value("v"), columns: value("c"), rows: value("r"), column: column, row: row,
            bytes: Array(bytes))
        if image.bytes.count != image.width * image.height * 3 { unknown.append("an image of another size") }
        images[number] = image
    }
}
