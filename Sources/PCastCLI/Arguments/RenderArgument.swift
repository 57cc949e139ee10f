import ArgumentParser

/// The target of rendered video.
enum RenderArgument: String, ExpressibleByArgument, CaseIterable {
    case null, window, terminal
}
