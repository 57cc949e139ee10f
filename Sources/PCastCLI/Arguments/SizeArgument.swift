import ArgumentParser

/// The size of a frame, such as `1280x720`. Both sides are even, as 4:2:0 video requires, and from 16 to 4096.
struct SizeArgument: ExpressibleByArgument, Equatable, CustomStringConvertible {
    let width: Int
    let height: Int

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    init?(argument: String) {
        let sides = argument.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
        guard sides.count == 2, let width = sides[0], let height = sides[1] else { return nil }
        guard [width, height].allSatisfy({ (16...4096).contains($0) && $0.isMultiple(of: 2) }) else { return nil }
        self.init(width: width, height: height)
    }

    var description: String { "\(width)x\(height)" }
}
