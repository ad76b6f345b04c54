const words = (text: string) => new Set(text.split(/\s+/));

/** Programs that run other programs, so the first word does not say what runs. */
const runners = words(
  `sudo doas su pkexec runuser env xargs nohup time timeout nice ionice chrt taskset stdbuf unbuffer setsid watch
   parallel script expect flock strace ltrace gdb chroot unshare nsenter bwrap firejail systemd-run at batch crontab
   busybox toybox sh bash rbash zsh dash ash ksh mksh csh tcsh fish pwsh powershell cmd ssh start-process
   invoke-expression iex`,
);

/** Shell builtins change what follows, or what a name means. */
const builtins = words(
  `. : [ alias autoload bg bind bindkey break builtin bye caller cd chdir clone command compctl compgen complete
   compopt continue coproc declare dirs disable disown echotc echoti emulate enable eval exec exit export fc fg float
   functions getln getopts hash help history integer jobs kill let limit local log logout mapfile nocorrect noglob
   popd print printf private pushd pushln r read readarray readonly rehash return sched set setopt shift shopt source
   suspend times trap ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait
   whence where zcompile zformat zle zmodload zparseopts zprof zpty zsocket zstyle ztcp`,
);

const keywords = words(
  `if then elif else fi for foreach while until do done end case esac select repeat function always in`,
);

/** Why no rule may allow a program, whatever its arguments; undefined when a rule may. */
export function programProblem(program: string): string | undefined {
  if (/^[^=]*=/.test(program)) return "It has a variable that is set for one command.";
  if (!/^[\w./][\w./+-]*$/.test(program)) return "It has a program that is not named plainly.";
  // Where the file system ignores case, so do the names of programs.
  const name = (program.split("/").at(-1) ?? "").toLowerCase().replace(/\.(exe|cmd|bat)$/, "");
  if (name === "" || name === "." || name === "..") return "It has a program that is not named plainly.";
  if (runners.has(name)) return `It has ${name}, which runs other commands.`;
  if (builtins.has(name) || keywords.has(name)) return `It has ${name}, which changes what follows.`;
  return undefined;
}
