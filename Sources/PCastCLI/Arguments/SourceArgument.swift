import ArgumentParser
import PCast

/// The source of video or audio, which `SourceSpecification` parses.
struct SourceArgument: ExpressibleByArgument, Equatable {
    let source: SourceSpecification

    init?(argument: String) {
        guard let source = try? SourceSpecification(argument) else { return nil }
        self.source = source
    }
}
