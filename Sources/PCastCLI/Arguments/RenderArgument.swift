import ArgumentParser

/// Where a viewer shows the pictures.
enum RenderArgument: String, ExpressibleByArgument, CaseIterable {
    case null, window, terminal
}
