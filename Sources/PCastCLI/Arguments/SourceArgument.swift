import ArgumentParser
import PCast

/// Where pictures or sound come from, as `SourceSpecification` reads it.
struct SourceArgument: ExpressibleByArgument, Equatable {
    let source: SourceSpecification

    init?(argument: String) {
        guard let source = try? SourceSpecification(argument) else { return nil }
        self.source = source
    }
}
