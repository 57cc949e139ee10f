import Glibc

/// A character as strokes on a grid of 4×6 with the origin at the top left. Strokes have round ends.
struct StrokeGlyph {
    typealias Point = (x: Double, y: Double)

    let strokes: [[Point]]

    /// Returns nil for a character without strokes, such as a space.
    init?(_ character: Character) {
        guard let text = Self.shapes[character] else { return nil }
        strokes = text.split(separator: " ").map { stroke in
            stroke.split(separator: ",").map { pair in
                let digits = pair.split(separator: ":").compactMap { Double($0) }
                return (digits[0], digits[1])
            }
        }
    }

    /// Returns the glyph at a height. The strokes are a ninth of it thick.
    func mask(height: Int) -> CoverageMask {
        let unit = Double(height) / 7.2
        let half = unit * 0.42
        let margin = unit * 0.6
        return CoverageMask(width: Int(unit * 5.2), height: height) { x, y in
            let point = ((x - margin) / unit, (y - margin) / unit)
            return distance(from: point) * unit - half
        }
    }

    private func distance(from point: Point) -> Double {
        var least = Double.infinity
        for stroke in strokes {
            for index in 0..<max(1, stroke.count - 1) {
                let end = stroke[min(index + 1, stroke.count - 1)]
                least = min(least, Self.distance(from: point, to: stroke[index], end))
            }
        }
        return least
    }

    private static func distance(from point: Point, to start: Point, _ end: Point) -> Double {
        let (dx, dy) = (end.x - start.x, end.y - start.y)
        let square = dx * dx + dy * dy
        let along = square == 0 ? 0 : ((point.x - start.x) * dx + (point.y - start.y) * dy) / square
        let part = min(max(along, 0), 1)
        return hypot(point.x - start.x - part * dx, point.y - start.y - part * dy)
    }

    private static let shapes: [Character: String] = [
        "0": "1:0,3:0,4:1,4:5,3:6,1:6,0:5,0:1,1:0",
        "1": "0.8:1.2,2.2:0,2.2:6 0.8:6,3.6:6",
        "2": "0:1,1:0,3:0,4:1,4:2.2,0:6,4:6",
        "3": "0:0.8,0.9:0,3:0,4:1,4:2,3:2.9,1.5:2.9 3:2.9,4:3.9,4:5,3:6,0.9:6,0:5.2",
        "4": "3:6,3:0,0:4.2,4:4.2",
        "5": "3.8:0,0.4:0,0.2:2.6,3:2.6,4:3.6,4:5,3:6,0.9:6,0:5.3",
        "6": "3.6:0.3,3:0,1.2:0,0:1.2,0:5,1:6,3:6,4:5,4:3.6,3:2.7,1:2.7,0:3.6",
        "7": "0:0,4:0,1.4:6",
        "8": "1:0,3:0,4:0.9,4:2,3:2.9,1:2.9,0:2,0:0.9,1:0 1:2.9,0:3.8,0:5.1,1:6,3:6,4:5.1,4:3.8,3:2.9",
        "9": "0.4:5.7,1:6,2.8:6,4:4.8,4:1,3:0,1:0,0:1,0:2.4,1:3.3,3:3.3,4:2.4",
        ":": "2:1.8 2:4.4",
        ".": "2:5.9",
        "-": "0.8:3,3.2:3",
        "x": "0.6:2.6,3.4:6 3.4:2.6,0.6:6",
        "/": "3.6:0,0.4:6",
        "P": "0.2:6,0.2:0,2.9:0,4:1,4:2.3,2.9:3.3,0.2:3.3",
        "C": "4:1,3:0,1:0,0:1,0:5,1:6,3:6,4:5",
        "T": "0:0,4:0 2:0,2:6",
        "U": "0:0,0:5,1:6,3:6,4:5,4:0",
        "a": "0.5:2.3,3:2.2,3.8:3,3.8:6 3.8:3.9,1:3.9,0.2:4.5,0.2:5.4,1:6,2.8:6,3.8:5.2",
        "s": "3.7:2.6,3:2.2,1:2.2,0.3:2.8,0.3:3.4,1:4,3:4.1,3.8:4.7,3.8:5.4,3:6,1:6,0.3:5.6",
        "t": "1.6:0.6,1.6:5.2,2.4:6,3.4:6 0.4:2.2,3.2:2.2",
        "f": "3.6:0.2,2.6:0,1.8:0.8,1.8:6 0.4:2.4,3.2:2.4",
        "p": "0.4:2.2,0.4:7 0.4:3,1.2:2.2,3:2.2,3.8:3,3.8:5.1,3:6,1.2:6,0.4:5.2",
    ]
}
