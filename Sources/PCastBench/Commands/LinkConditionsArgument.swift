import ArgumentParser
import PCastCore
import PCastTestSupport

/// The conditions of a link on a command line: `delay=30ms,loss=2%,rate=4M`. Others stay unchanged.
struct LinkConditionsArgument: ExpressibleByArgument, Sendable {
    private enum Change: Sendable {
        case delay(TimeSpan), jitter(TimeSpan), reorders(Bool), loss(Double), burst(Double), duplication(Double)
        case rate(Bitrate?), queue(QueueLimit), stall(Stall?), isDown(Bool), size(Int?)
    }

    private let changes: [Change]

    init?(argument: String) {
        var changes: [Change] = []
        for part in argument.split(separator: ",") {
            let halves = part.split(separator: "=", maxSplits: 1).map(String.init)
            guard let change = Self.change(halves[0], halves.count == 2 ? halves[1] : nil) else { return nil }
            changes.append(change)
        }
        guard !changes.isEmpty else { return nil }
        self.changes = changes
    }

    private static func change(_ name: String, _ value: String?) -> Change? {
        guard let value else {
            let words: [String: Change] = [
                "ordered": .reorders(false), "reordered": .reorders(true), "down": .isDown(true), "up": .isDown(false),
            ]
            return words[name]
        }
        switch name {
        case "delay": return span(value).map(Change.delay)
        case "jitter": return span(value).map(Change.jitter)
        case "loss": return share(value).map(Change.loss)
        case "burst": return Double(value).flatMap { $0 >= 1 ? .burst($0) : nil }
        case "duplicate": return share(value).map(Change.duplication)
        case "rate": return value == "none" ? .rate(nil) : rate(value).map { .rate($0) }
        case "queue": return queue(value).map(Change.queue)
        case "stall": return value == "none" ? .stall(nil) : stall(value).map { .stall($0) }
        case "mtu": return value == "none" ? .size(nil) : Int(value).flatMap { $0 >= 68 ? .size($0) : nil }
        default: return nil
        }
    }

    private static func span(_ text: String) -> TimeSpan? { MillisecondsArgument(argument: text)?.span }

    private static func share(_ text: String) -> Double? {
        let number = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 } : Double(text)
        return number.flatMap { (0...1).contains($0) ? $0 : nil }
    }

    private static func rate(_ text: String) -> Bitrate? {
        let factor = text.hasSuffix("k") ? 1e3 : text.hasSuffix("M") ? 1e6 : 1
        guard let number = Double(factor > 1 ? text.dropLast() : text[...]), number * factor >= 1_000 else {
            return nil
        }
        return Bitrate(bitsPerSecond: Int64(number * factor))
    }

    private static func queue(_ text: String) -> QueueLimit? {
        if text.hasSuffix("kB") { return Int(text.dropLast(2)).map { .bytes($0 * 1_000) } }
        return span(text).map { .span($0) }
    }

    private static func stall(_ text: String) -> Stall? {
        let halves = text.split(separator: "/").map(String.init)
        guard halves.count == 2, let span = Self.span(halves[0]), let period = Self.span(halves[1]), span < period
        else {
            return nil
        }
        return Stall(span, each: period)
    }

    func apply(to conditions: inout LinkConditions) {
        var burst: Double?
        for change in changes {
            switch change {
            case .delay(let span): conditions.delay = span
            case .jitter(let span): conditions.jitter = span
            case .reorders(let reorders): conditions.reorders = reorders
            case .loss(let share): conditions.loss = share == 0 ? .none : .random(share)
            case .burst(let length): burst = length
            case .duplication(let share): conditions.duplication = share
            case .rate(let rate): conditions.rate = rate
            case .queue(let limit): conditions.queue = limit
            case .stall(let stall): conditions.stall = stall
            case .isDown(let isDown): conditions.isDown = isDown
            case .size(let size): conditions.maximumPacketSize = size
            }
        }
        let share = conditions.loss.share
        if let burst, share > 0, share < 1 {
            conditions.loss = .bursts(GilbertElliott(share: share, length: burst))
        }
    }
}

/// A change of a link's conditions on a command line: `rate=800k`, `up down`, `down loss=5%`. Without a direction, it
/// applies to both.
struct LinkStepArgument: ExpressibleByArgument, Sendable {
    let isUp, isDown: Bool
    let conditions: LinkConditionsArgument

    init?(argument: String) {
        var words = argument.split(separator: " ").map(String.init)
        let direction = words.count == 2 ? words.removeFirst() : nil
        guard [nil, "up", "down"].contains(direction), words.count == 1,
            let conditions = LinkConditionsArgument(argument: words[0])
        else { return nil }
        isUp = direction != "down"
        isDown = direction != "up"
        self.conditions = conditions
    }
}

/// A timed change of a link's conditions on a command line: `10s rate=800k`, `10s up down`, `14s down loss=5%`.
struct LinkChangeArgument: ExpressibleByArgument, Sendable {
    let age: TimeSpan
    let step: LinkStepArgument

    init?(argument: String) {
        let halves = argument.split(separator: " ", maxSplits: 1).map(String.init)
        guard halves.count == 2, let age = MillisecondsArgument(argument: halves[0])?.span,
            let step = LinkStepArgument(argument: halves[1])
        else { return nil }
        self.age = age
        self.step = step
    }
}

/// A duration on a command line: `25ms`, `1.5s`.
struct MillisecondsArgument: ExpressibleByArgument {
    let span: TimeSpan

    init(span: TimeSpan) { self.span = span }

    init?(argument: String) {
        for (unit, factor) in [("ms", 0.001), ("s", 1.0)] where argument.hasSuffix(unit) {
            guard let number = Double(argument.dropLast(unit.count)), (0...3_600).contains(number) else { return nil }
            span = TimeSpan(seconds: number * factor)
            return
        }
        return nil
    }

    var defaultValueDescription: String { "\(span.milliseconds)ms" }
}
