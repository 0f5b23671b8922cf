/// `top`: shows a live view of the daemon.
enum TopVerb {
    static let verb = Verb(
        "top", .looking, "show queues and operations live",
        forms: [""],
        about: [
            "Arrows or j and k choose an operation; Enter shows it, l its log, w what it waits for, c cancels it, "
                + "s holds or resumes it, + and - change its priority, S suspends or resumes the daemon, / filters, f shows the newest failures, ? lists the keys, "
                + "q leaves.",
            "With --json it prints an object with the status and the listed operations, and another one after every change.",
        ],
        examples: [.init("Watch everything", "opsctl top")],
        action: { (session) throws(Failure) in
            if session.wantsJSON { return try TopScreen.writeViews(session) }
            do throws(Failure) {
                return try TopScreen(session).run()
            } catch {
                throw session.named(error)
            }
        })
}
