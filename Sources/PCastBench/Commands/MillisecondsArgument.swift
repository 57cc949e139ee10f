import ArgumentParser
import PCastCore

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
