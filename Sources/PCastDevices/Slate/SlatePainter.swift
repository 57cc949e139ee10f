import PCastCodecs
package import PCastCore

/// Draws slates: the last frame of a video, dimmed, with a text. A slate is shown while the video has no publisher.
package enum SlatePainter {
    /// The share of the brightness and of the colors of the frame that remains, in percent.
    private static let remainingPercent = 35
    /// The margin at each side, in percent of the width.
    private static let marginPercent = 8
    /// The height of a cell of the glyphs' grid of the largest text, as a part of the height of the frame. A capital letter
    /// has six cells.
    private static let largestUnit = 1.0 / 110
    /// The size of a cell of the smallest text in pixels.
    private static let smallestUnit = 0.8
    /// The share of the height that the lines may have.
    private static let lineShare = 0.6
    /// The width of a character in cells.
    private static let advance = 5.2

    /// Returns a slate.
    ///
    /// - Parameters:
    ///   - text: The text. Characters that cannot be drawn are left out.
    ///   - frame: The last frame; nil for a dark background.
    ///   - dimensions: The size of the slate without a frame. Each side is rounded down to an even number of at least 16.
    /// - Returns: The slate, which has the size of the frame with even sides.
    package static func draw(_ text: String, over frame: VideoFrame?, dimensions: Dimensions) -> VideoFrame {
        let size = frame.map { even($0.dimensions) } ?? even(dimensions)
        let slate = VideoFramePool(capacity: 1).frame(
            dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video),
            color: frame?.color ?? .bt601)
        if let frame, frame.dimensions.width >= size.width, frame.dimensions.height >= size.height {
            dim(frame, into: slate)
        } else {
            FrameCanvas(slate.memory, dimensions: size).fill(
                left: 0, top: 0, right: size.width, bottom: size.height, colour: FrameColour(16, 18, 24))
        }
        write(text, on: FrameCanvas(slate.memory, dimensions: size))
        return slate
    }

    private static func even(_ dimensions: Dimensions) -> Dimensions {
        Dimensions(width: max(16, dimensions.width & ~1), height: max(16, dimensions.height & ~1))
    }

    /// Copies a frame with less brightness and color.
    private static func dim(_ frame: VideoFrame, into slate: VideoFrame) {
        // Black is 16 and gray is 128 in the limited range.
        let luma = table(around: 16)
        let chroma = table(around: 128)
        let (width, height) = (slate.dimensions.width, slate.dimensions.height)
        copy(frame.luma, frame.strideY, to: slate.luma, slate.strideY, width, height, by: luma)
        copy(frame.chroma.u, frame.strideUV, to: slate.chroma.u, slate.strideUV, width / 2, height / 2, by: chroma)
        copy(frame.chroma.v, frame.strideUV, to: slate.chroma.v, slate.strideUV, width / 2, height / 2, by: chroma)
    }

    /// Returns the new value of each value of a sample.
    private static func table(around neutral: Int) -> [UInt8] {
        (0...255).map { UInt8(clamping: neutral + ($0 - neutral) * remainingPercent / 100) }
    }

    private static func copy(
        _ source: MutableByteView, _ sourceStride: Int, to target: MutableByteView, _ targetStride: Int, _ width: Int,
        _ height: Int, by table: [UInt8]
    ) {
        for row in 0..<height {
            for column in 0..<width {
                target[row * targetStride + column] = table[Int(source[row * sourceStride + column])]
            }
        }
    }

    // MARK: Text

    private static func write(_ text: String, on canvas: FrameCanvas) {
        let (lines, unit) = layout(text, width: canvas.width, height: canvas.height)
        let lineHeight = Int((unit * StrokeGlyph.rowCount).rounded(.up))
        var masks: [Character: CoverageMask] = [:]
        for character in Set(text) { masks[character] = StrokeGlyph(character)?.tallMask(unit: unit) }
        let shadow = max(1, Int((unit * 0.5).rounded()))
        for (colour, offset) in [(FrameColour.black, shadow), (FrameColour.white, 0)] {
            var top = (canvas.height - lines.count * lineHeight) / 2 + offset
            for line in lines {
                var left = Double(canvas.width) / 2 - Double(line.count) * unit * advance / 2 + Double(offset)
                for character in line {
                    if let mask = masks[character] { canvas.stamp(mask, left: Int(left), top: top, colour: colour) }
                    left += unit * advance
                }
                top += lineHeight
            }
        }
    }

    /// Returns the lines of a text, and the size of a cell with which they fit into a frame.
    static func layout(_ text: String, width: Int, height: Int) -> (lines: [String], unit: Double) {
        let space = Double(width * (100 - 2 * marginPercent)) / 100
        var unit = max(Double(height) * largestUnit, smallestUnit)
        while true {
            let lines = lines(of: text, length: max(1, Int(space / (unit * advance))))
            let used = Double(lines.count) * unit * StrokeGlyph.rowCount
            if used <= Double(height) * lineShare || unit <= smallestUnit { return (lines, unit) }
            unit = max(unit * 0.9, smallestUnit)
        }
    }

    /// Divides a text between its words, and longer words anywhere.
    private static func lines(of text: String, length: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var word = word
            if !line.isEmpty, line.count + 1 + word.count > length {
                lines.append(line)
                line = ""
            }
            while word.count > length {
                lines.append(String(word.prefix(length)))
                word = word.dropFirst(length)
            }
            if !word.isEmpty { line += (line.isEmpty ? "" : " ") + word }
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}
